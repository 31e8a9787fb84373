export { retryOutage as persist } from '#platform/database/outages.ts'
