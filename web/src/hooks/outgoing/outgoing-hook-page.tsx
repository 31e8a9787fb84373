// An outgoing hook: how it is doing, what it delivered, and what it sends.
import { DataList, Paper } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { queryKeys } from '../../api/queries.ts'
import type { Hook } from '../../api/types.ts'
import { PipelineLink } from '../../pipelines/pipeline-link.tsx'
import { useResourceScope } from '../../scope/tree.ts'
import { usePermission } from '../../session/permissions.ts'
import { useVersioned } from '../../ui/form/versioned.ts'
import { Loaded } from '../../ui/page.tsx'
import { Fact, HookBadge, SectionCard } from '../../ui/parts.tsx'
import { ResourceHeader } from '../../ui/resource-header.tsx'
import { Age } from '../../ui/time.tsx'
import { CreatedHook, type CreatedHookProps } from './created-hook.tsx'
import { DeliveriesSection } from './deliveries-section.tsx'
import { eventList } from './events.ts'
import { HealthAlert } from './health-alert.tsx'
import { HookActions } from './hook-actions.tsx'
import { SettingsForm } from './settings-form.tsx'

export default function OutgoingHookPage({ id }: { id: string }) {
  const query = useVersioned(queryKeys.hook('outgoing', id), '/hooks/outgoing/{hook_id}', {
    params: { path: { hook_id: id } },
  })
  return (
    <Loaded query={query} what="hook">
      {({ record, version }) => <HookDetails hook={record} version={version} />}
    </Loaded>
  )
}

function HookDetails({ hook, version }: { hook: Hook; version: string | null }) {
  const { environment, scope } = useResourceScope(hook)
  const { allowed, reason } = usePermission('hook:edit', scope)
  const created = useCreated(hook.id)
  return (
    <>
      <ResourceHeader
        type="outgoing_hook"
        record={hook}
        environment={environment}
        badge={<HookBadge hook={hook} />}
      >
        <HookActions hook={hook} scope={scope} />
      </ResourceHeader>
      {created && <CreatedHook {...created} />}
      <HealthAlert hook={hook} />
      <Paper withBorder p="md">
        <HookFacts hook={hook} />
      </Paper>
      <DeliveriesSection hook={hook} scope={scope} />
      <div className="section">
        <SectionCard id="settings" title="Settings">
          {allowed ? <SettingsForm hook={hook} version={version} /> : <p className="dimmed">{reason}</p>}
        </SectionCard>
      </div>
    </>
  )
}

/** Removed from memory when the page is first shown: the secret is shown once. */
function useCreated(hookId: string): CreatedHookProps | undefined {
  const queries = useQueryClient()
  const [created] = useState(() => queries.getQueryData<CreatedHookProps>(queryKeys.createdHook(hookId)))
  useEffect(() => queries.removeQueries({ queryKey: queryKeys.createdHook(hookId) }), [queries, hookId])
  return created
}

function HookFacts({ hook }: { hook: Hook }) {
  const { events = [], scope } = hook.trigger_when as { events?: string[]; scope?: string }
  return (
    <DataList>
      <Fact label="Notifies">
        <code>{hook.target_url}</code>
      </Fact>
      <Fact label="About">
        {scope === 'resource' ? `Runs (${hook.action_type}) of all pipelines next to ` : ''}
        <PipelineLink id={hook.pipeline_id} />
      </Fact>
      <Fact label="Events">{eventList(events)}</Fact>
      <Fact label="Created by">
        {hook.created_by_user.name}, <Age of={hook.created_at} />
      </Fact>
    </DataList>
  )
}
