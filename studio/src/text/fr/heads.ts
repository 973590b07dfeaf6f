export default {
  title: 'Têtes',
};
