export default {
  title: 'Traduire',
};
