import { jsChange } from '../../../src/kernel/series/change/change-js.ts';
import { wasmChange } from '../../../src/kernel/series/change/change-wasm.ts';
import { compileSeries, SeriesModule } from '../../../src/kernel/series/module/module.ts';
import { describeChanges } from './change-contract.ts';

describeChanges('plain JavaScript', async () => jsChange);
describeChanges('WebAssembly', async () => wasmChange(new SeriesModule(await compileSeries())));
