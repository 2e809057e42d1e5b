/** Starts the page. */
import { render } from 'preact';
import 'uplot/dist/uPlot.min.css';
import '../dashboard/theme/tokens.css';
import '../dashboard/theme/base.css';
import '../dashboard/parts/parts.css';
import '../dashboard/runs/list.css';
import '../dashboard/run/run.css';
import '../dashboard/run/facts.css';
import '../dashboard/run/layers/layers.css';
import '../dashboard/run/batches/batches.css';
import '../dashboard/dropped/files.css';
import '../dashboard/run/analysis/analysis.css';
import './train/train.css';
import './train/sync.css';
import '../dashboard/app/access.css';
import { App } from '../dashboard/app/app.tsx';
import { followLocation } from '../dashboard/route/location.ts';
import { findSources } from '../dashboard/sources/sources.ts';
import { followTheme } from '../dashboard/theme/theme.ts';
import { sendUnsentRuns } from '../dashboard/sources/unsent-runs.ts';

followTheme();
followLocation();
void findSources();
const root = document.getElementById('app');
if (root !== null) render(<App />, root);
sendUnsentRuns();
