import { Link } from 'wouter'
import type { Overview } from '../api/types.ts'
import { SectionCard } from '../ui/parts.tsx'
import { Age } from '../ui/time.tsx'
import classes from './overview.module.css'

/** Servers where it is not known what is live. */
export function NeedsAttention({ count, items }: Overview['needs_attention']) {
  const more = count > items.length ? `, the last ${items.length} of ${count}` : ''
  return (
    <div className={classes.attention}>
      <SectionCard id="attention" title={`Live release unknown${more}`}>
        <ul className={`plain-list ${classes.list}`}>
          {items.map(({ application, server, detail, since }) => (
            <li key={`${application.id} ${server.id}`}>
              <Link href={`/applications/${application.id}`}>{application.name}</Link> on{' '}
              <Link href={`/servers/${server.id}`}>{server.name}</Link>
              <div className="dimmed wrap">
                {detail} <Age of={since} />
              </div>
            </li>
          ))}
        </ul>
      </SectionCard>
    </div>
  )
}
