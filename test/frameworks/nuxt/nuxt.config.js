export default { compatibilityDate: '2026-11-01', telemetry: false };
