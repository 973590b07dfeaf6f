export default {
  title: 'Entraînement',
};
