import { checkServer } from '../../check.js';

export default defineEventHandler(() => checkServer(process.env.QUARK_DIR ?? 'quark-runs'));
