import { checkServer } from '../../../check.js';

export async function GET() {
  return Response.json(await checkServer(process.env.QUARK_DIR ?? 'quark-runs'));
}
