import { jsDraw } from '../../../src/kernel/series/draw/draw-js.ts';
import { loadWasmSeriesKernel } from '../../../src/kernel/series/series-kernel.ts';
import { describeDraw } from './draw-contract.ts';

describeDraw('plain JavaScript', async () => jsDraw);
describeDraw('WebAssembly', () => loadWasmSeriesKernel());
