import type { ApplicationCard } from '#web/base/api/types.ts'
import { StatusBadge } from '#web/base/ui/parts.tsx'

/** The last health check of what is live; nothing where none is set. */
export function HealthBadge({ health }: Pick<ApplicationCard, 'health'>) {
  switch (health) {
    case 'healthy':
      return <StatusBadge status="completed" label="Healthy" />
    case 'unhealthy':
      return <StatusBadge status="failed" label="Unhealthy" />
    case 'checking':
      return <StatusBadge status="in-progress" label="Checking health" />
    case 'unknown':
      return <StatusBadge status="skipped" label="Health unknown" icon="?" />
    case 'not_configured':
      return null
  }
}
