export default {
  title: 'Map',
};
