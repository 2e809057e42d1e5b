import { jsCurve } from '../../../src/kernel/series/curve/curve-js.ts';
import { loadWasmSeriesKernel } from '../../../src/kernel/series/series-kernel.ts';
import { describeCurve } from './curve-contract.ts';

describeCurve('plain JavaScript', async () => jsCurve);
describeCurve('WebAssembly', () => loadWasmSeriesKernel());
