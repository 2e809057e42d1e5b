/**
 * `quark-sdk/service`: the persistence service, for Node. `quark serve` is made of it.
 */
export { createService, type Service, type ServiceOptions } from './service/node/create-service.ts';
export {
  serveService,
  type ServedService,
  type ServeServiceOptions,
} from './service/node/serve-service.ts';
export { openMachineLog, type MachineLog } from './service/node/machine-log.ts';
export { openAccess, type OpenedAccess } from './service/node/open-access.ts';
export { createServiceLog, LOG_LEVELS, type LogLevel } from './service/node/service-log.ts';
export { type AccessBook, type ReachableSpace } from './service/access/access-book.ts';
export { type User } from './service/access/access-sql.ts';
export {
  KEY_SCOPES,
  type KeyScope,
  type NewKeyOptions,
  type ProjectShare,
  type RunAccess,
  type ShareOptions,
  type UserKey,
} from './wire/access-messages.ts';
export {
  AUDIT_ACTIONS,
  type AuditAction,
  type AuditFilter,
  type AuditLine,
} from './wire/audit-messages.ts';
export { type QuotaOptions, type QuotaReport } from './wire/quota-messages.ts';
export {
  amountText,
  QUOTA_RESOURCES,
  type QuotaLimits,
  type QuotaResource,
} from './store/quotas.ts';
export {
  openServiceAccess,
  ServiceAccess,
  type Removed,
  type RemoveOptions,
  type ServiceAccessOptions,
} from './wire/http-access.ts';
export { type Removals } from './service/access/removals.ts';
export { type KeylessUse } from './service/limits/gate.ts';
export { DEFAULT_SERVICE_LIMITS, type ServiceLimits } from './service/limits/limits.ts';
export { type ServiceLogger } from './service/log/logging.ts';
export { type ServiceConnection } from './service/limits/origin-rules.ts';
export { type MaintenanceOptions } from './service/maintenance/maintenance.ts';
export {
  s3OptionsFromEnvironment,
  type S3Addressing,
  type S3Options,
} from './store/objects/s3-config.ts';
export {
  type AccessBookParts,
  type ChangeBy,
  type GrantedSpace,
} from './service/access/access-book.ts';
export { type AuditLog } from './service/access/audit-log.ts';
export { type Principal, type SpaceAddress } from './service/access/principal.ts';
export { type QuotaBook } from './service/access/quota-book.ts';
export { type Removal, type RemovalOptions, type RemovalParts } from './service/access/removals.ts';
export { type Actor, type AuditAct, type AuditRecord } from './service/access/audit-log.ts';
export { type SqlDatabase, type SqlWork } from './store/sql/sql-database.ts';
export { type QuotaBookParts } from './service/access/quota-book.ts';
export { type QuotaUse, type SpaceQuotas } from './store/quotas.ts';
export { type DatabaseSafety, type SqlAttempt } from './store/sql/sql-database.ts';
