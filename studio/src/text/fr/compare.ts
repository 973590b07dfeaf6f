export default {
  title: 'Comparer',
};
