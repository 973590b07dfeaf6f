export default {
  title: 'Carte',
};
