import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { Action, ActionRef } from '../api-types.ts'
import { PipelineLink } from '../pipelines/pipeline-link.tsx'
import { Age, Duration } from '../words/age.tsx'
import { StatusBadge } from '../words/status.tsx'
import { TRIGGER_WORDS } from '../words/triggers.ts'
import { webAddress } from '../words/web-address.ts'
import classes from './action.module.css'

export function ActionFacts({ action }: { action: Action }) {
  const { commit, deployment, release_name } = action.action_data
  return (
    <dl className={`card ${classes.facts}`}>
      <Fact name="Started by">
        <StartedBy action={action} />
      </Fact>
      <Fact name="Pipeline">
        <PipelineLink id={action.pipeline_id} />
      </Fact>
      <Fact name="Began">
        <Age of={action.created_at} />
      </Fact>
      <Fact name="Waited">
        <Duration from={action.created_at} to={action.started_at ?? action.completed_at} />
      </Fact>
      <Fact name="Took">
        <Duration from={action.started_at} to={action.completed_at} />
      </Fact>
      {deployment && (
        <Fact name="Source">
          {deployment.type} of {deployment.source_type ?? 'source'} <code>{deployment.source_ref}</code>
        </Fact>
      )}
      {commit && (
        <Fact name="Commit" wide>
          <CommitLink hash={commit.hash} url={commit.url} /> {commit.message?.split('\n')[0]}{' '}
          {commit.author_name && <span className="quiet">by {commit.author_name}</span>}
        </Fact>
      )}
      {release_name && (
        <Fact name="Release">
          <code>{release_name}</code>
        </Fact>
      )}
      {action.trigger_comment && (
        <Fact name="Comment" wide>
          {action.trigger_comment}
        </Fact>
      )}
      {action.retry_of !== null && (
        <Fact name="Retry of">
          <Link href={`/actions/${action.retry_of}`}>#{action.retry_of}</Link>
        </Fact>
      )}
      {action.parent && (
        <Fact name="Started by action">
          <RelatedAction action={action.parent} />
        </Fact>
      )}
      {action.children.length > 0 && (
        <Fact name="Starts" wide>
          <ul className={classes.related}>
            {action.children.map((child) => (
              <li key={child.id}>
                <RelatedAction action={child} />
              </li>
            ))}
          </ul>
        </Fact>
      )}
      <Variables variables={action.triggered_from.hook_parsed_variables} />
    </dl>
  )
}

function Fact({ name, wide, children }: { name: string; wide?: boolean; children: ReactNode }) {
  return (
    <div className={wide ? classes.wide : undefined}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function StartedBy({ action }: { action: Action }) {
  const from = action.triggered_from
  const kind = TRIGGER_WORDS[from.trigger_type] ?? from.trigger_type
  if (from.hook_id)
    return (
      <>
        Hook <Link href={`/hooks/incoming/${from.hook_id}`}>{from.name ?? from.hook_id}</Link>
        {from.ip_address && <span className="quiet"> from {from.ip_address}</span>}
      </>
    )
  const who = action.triggered_by_user?.name ?? from.name ?? from.email
  return (
    <>
      {who ?? kind} {who && <span className="quiet">{kind.toLowerCase()}</span>}
    </>
  )
}

function CommitLink({ hash, url }: { hash: string | null; url: string | null }) {
  const short = <code>{hash?.slice(0, 8)}</code>
  const address = webAddress(url)
  return address ? (
    <a href={address} rel="noreferrer" target="_blank">
      {short}
    </a>
  ) : (
    short
  )
}

function RelatedAction({ action }: { action: ActionRef }) {
  return (
    <>
      <Link href={`/actions/${action.id}`}>
        {action.type_human_readable} {action.resource_name} #{action.id}
      </Link>{' '}
      <StatusBadge status={action.status as Action['status']} />
    </>
  )
}

function Variables({ variables }: { variables: Record<string, unknown> }) {
  const all = Object.entries(variables)
  if (all.length === 0) return null
  return (
    <div className={classes.wide}>
      <dt>Variables</dt>
      <dd>
        <ul className={classes.variables}>
          {all.map(([name, value]) => (
            <li key={name}>
              <code>{name}</code> = <code>{typeof value === 'string' ? value : JSON.stringify(value)}</code>
            </li>
          ))}
        </ul>
      </dd>
    </div>
  )
}
