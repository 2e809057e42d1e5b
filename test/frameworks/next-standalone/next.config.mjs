export default {
  output: 'standalone',
  // Node before 22.16 has no SQLite; what is loaded by name while the server runs is not traced.
  outputFileTracingIncludes: { '/**': ['./node_modules/@libsql/**'] },
};
