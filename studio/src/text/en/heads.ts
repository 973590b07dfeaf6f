export default {
  title: 'Heads',
};
