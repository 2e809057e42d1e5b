import { jsOutlier } from '../../../src/kernel/series/outlier/outlier-js.ts';
import { loadWasmSeriesKernel } from '../../../src/kernel/series/series-kernel.ts';
import { describeOutlier } from './outlier-contract.ts';

describeOutlier('plain JavaScript', async () => jsOutlier);
describeOutlier('WebAssembly', () => loadWasmSeriesKernel());
