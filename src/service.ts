/**
 * `quark-sdk/service`: the persistence service, for Node. `quark serve` is made of it.
 */
export { createService, type Service, type ServiceOptions } from './node/create-service.ts';
export {
  serveService,
  type ServedService,
  type ServeServiceOptions,
} from './node/serve-service.ts';
export { openAccess, type OpenedAccess } from './node/open-access.ts';
export { createServiceLog, LOG_LEVELS, type LogLevel } from './node/service-log.ts';
export {
  type AccessBook,
  type NewKeyOptions,
  type ReachableSpace,
  type ShareOptions,
} from './service/access/access-book.ts';
export { type ProjectShare, type User, type UserKey } from './service/access/access-sql.ts';
export { KEY_SCOPES, type KeyScope, type RunAccess } from './service/access/principal.ts';
export {
  openServiceAccess,
  ServiceAccess,
  type ServiceAccessOptions,
} from './service/http-access.ts';
export { type KeylessUse } from './service/gate.ts';
export { DEFAULT_SERVICE_LIMITS, type ServiceLimits } from './service/limits.ts';
export { type ServiceLogger } from './service/logging.ts';
export { type ServiceConnection } from './service/origin-rules.ts';
export { type MaintenanceOptions } from './maintenance/maintenance.ts';
export {
  s3OptionsFromEnvironment,
  type S3Addressing,
  type S3Options,
} from './objects/s3-config.ts';
