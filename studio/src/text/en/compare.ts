export default {
  title: 'Compare',
};
