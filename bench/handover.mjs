// What handing work to workers costs the thread that hands it over: `npm run bench -- handover`, a part of the benchmark of kernels.
process.argv.push('--only=handover');
await import('./kernels.mjs');
