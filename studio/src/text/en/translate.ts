export default {
  title: 'Translate',
};
