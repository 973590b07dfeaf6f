export default {
  title: 'Six steps',
};
