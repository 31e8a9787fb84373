// What to look at: one list of everything that fails, is unknown or waits for a worker.
import { Link } from 'wouter'
import type { NeedsAttention, Overview } from '#web/base/api/types.ts'
import { SectionCard, StatusBadge } from '#web/base/ui/parts.tsx'
import { Age } from '#web/base/ui/time.tsx'
import { runTitle } from '#web/resources/pipelines/pipeline-names.ts'
import classes from './overview.module.css'

export function Attention({ count, items }: Overview['needs_attention']) {
  return (
    <SectionCard id="attention" title="Needs attention">
      {items.length === 0 ? (
        <span className={`dimmed ${classes.none}`}>Nothing needs attention</span>
      ) : (
        <ul className={`plain-list ${classes.list}`}>
          {items.map((item) => (
            <li key={keyOf(item)}>
              <div className={classes.run}>
                <Subject item={item} />
                <StatusBadge status="failed" {...LABELS[item.kind]} />
              </div>
              <div className="dimmed wrap">
                {(item.kind === 'run_failed' || item.hook) && item.application && (
                  <>
                    <bdi className={classes.clamped}>{item.application.name}</bdi>
                    {' · '}
                  </>
                )}
                {item.detail} <Age of={item.since} />
              </div>
            </li>
          ))}
        </ul>
      )}
      {count > items.length && (
        <div className={`dimmed ${classes.more}`}>
          The latest {items.length} of {count}
        </div>
      )}
    </SectionCard>
  )
}

const LABELS: Record<NeedsAttention['kind'], { label: string; icon?: string }> = {
  run_failed: { label: 'Run failed' },
  hook_failing: { label: 'Hook failing' },
  connection_lost: { label: 'Not connected' },
  live_unknown: { label: 'Live release unknown', icon: '?' },
  worker_offline: { label: 'Worker offline', icon: '◔' },
}

/** What it is about, linked to the page that says more. */
function Subject({ item }: { item: NeedsAttention }) {
  const { kind, application, server, pipeline, action_id, hook } = item
  if (kind === 'run_failed' && action_id !== null)
    return <Link href={`/actions/${action_id}`}>{runTitle(pipeline?.name, action_id)}</Link>
  if (hook) {
    const direction = kind === 'connection_lost' ? 'incoming' : 'outgoing'
    return <Link href={`/hooks/${direction}/${hook.id}`}>{hook.name}</Link>
  }
  return (
    <span>
      {application && <Link href={`/applications/${application.id}`}>{application.name}</Link>}
      {application && server && ' on '}
      {server && <Link href={`/servers/${server.id}`}>{server.name}</Link>}
    </span>
  )
}

function keyOf({ kind, application, server, action_id, hook }: NeedsAttention): string {
  return [kind, application?.id, server?.id, action_id, hook?.id].join(' ')
}
