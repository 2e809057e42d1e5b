import { json } from '@sveltejs/kit';
import { checkServer } from '../../../../check.js';

export async function GET() {
  return json(await checkServer(process.env.QUARK_DIR ?? 'quark-runs'));
}
