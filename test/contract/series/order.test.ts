import { jsOrder } from '../../../src/kernel/series/order/order.ts';
import { loadWasmSeriesKernel } from '../../../src/kernel/series/series-kernel.ts';
import { describeOrder } from './order-contract.ts';

describeOrder('plain JavaScript', async () => jsOrder);
describeOrder('WebAssembly', () => loadWasmSeriesKernel());
