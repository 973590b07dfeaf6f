export default {
  title: 'Training',
};
