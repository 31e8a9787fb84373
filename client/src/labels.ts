// Generated: the enumerated values of the API with their labels, as its answers spell them.

export const ENVIRONMENT_TYPES = {
  development: 'Development',
  staging: 'Staging',
  production: 'Production',
} as const

export const OPERATIONS = {
  deploy: 'Deploy',
  configure: 'Configure',
  provision: 'Provision',
  start: 'Start',
  stop: 'Stop',
  restart: 'Restart',
  reload: 'Reload',
  get_status: 'Get status',
  rotate_key: 'Rotate key',
  check_provisioned: 'Check provisioned',
  remove: 'Remove',
  delete: 'Delete',
  custom: 'Custom',
} as const

export const STATUSES = {
  pending: 'Pending',
  waiting: 'Waiting',
  queued: 'Queued',
  'in-progress': 'In progress',
  completed: 'Completed',
  failed: 'Failed',
  skipped: 'Skipped',
} as const
