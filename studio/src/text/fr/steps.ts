export default {
  title: 'Six étapes',
};
