/** Starts the page. */
import { render } from 'preact';
import 'uplot/dist/uPlot.min.css';
import './styles/tokens.css';
import './styles/base.css';
import './styles/parts.css';
import './styles/list.css';
import './styles/run.css';
import './styles/facts.css';
import './styles/layers.css';
import './styles/batches.css';
import './styles/files.css';
import './styles/analysis.css';
import './styles/train.css';
import './styles/sync.css';
import './styles/access.css';
import { App } from './app/app.tsx';
import { followLocation } from './app/location.ts';
import { findSources } from './app/sources.ts';
import { followTheme } from './app/theme.ts';
import { sendUnsentRuns } from './app/unsent-runs.ts';

followTheme();
followLocation();
void findSources();
const root = document.getElementById('app');
if (root !== null) render(<App />, root);
sendUnsentRuns();
