// An outgoing hook: how it is doing, what it delivered, and what it sends.
import { DataList, Paper } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { queryKeys } from '#web/base/api/queries.ts'
import type { Hook } from '#web/base/api/types.ts'
import { useVersioned } from '#web/base/form/versioned.ts'
import { usePermission } from '#web/base/session/permissions.ts'
import { Loaded } from '#web/base/ui/page.tsx'
import { Fact, SectionCard } from '#web/base/ui/parts.tsx'
import { Age } from '#web/base/ui/time.tsx'
import { useCredentials } from '#web/resources/credentials/credentials.ts'
import { HookBadge } from '#web/resources/hooks/hook-badge.tsx'
import { PipelineLink } from '#web/resources/pipelines/pipeline-link.tsx'
import { ResourceHeader } from '#web/shared/resource-header.tsx'
import { useResourceScope } from '#web/shared/scope/tree.ts'
import { CreatedHook, type CreatedHookProps } from './created-hook.tsx'
import { DeliveriesSection } from './deliveries-section.tsx'
import { EffectiveSettings, UnfitCredential } from './effective-settings.tsx'
import { eventList } from './events.ts'
import { HealthAlert, LinksAlert, TokenAlert } from './hook-alerts.tsx'
import { OutgoingActions } from './outgoing-actions.tsx'
import { presetKind } from './preset-kind.ts'
import { useReceivers } from './receivers.ts'
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
  const kind = presetKind(hook)
  return (
    <>
      <ResourceHeader
        type="outgoing_hook"
        record={hook}
        environment={environment}
        badge={<HookBadge hook={hook} />}
      >
        <OutgoingActions hook={hook} scope={scope} />
      </ResourceHeader>
      {created && <CreatedHook {...created} />}
      <HealthAlert hook={hook} />
      {kind !== undefined && <UnfitCredential hook={hook} kind={kind} />}
      <TokenAlert hook={hook} />
      <LinksAlert mb="md" />
      <Paper withBorder p="md">
        <HookFacts hook={hook} organizationId={scope?.organization} />
      </Paper>
      <DeliveriesSection hook={hook} scope={scope} />
      <div className="section">
        <SectionCard id="settings" title="Settings">
          {allowed && scope ? (
            <SettingsForm key={kind ?? 'ordinary'} hook={hook} version={version} scope={scope} />
          ) : (
            <p className="dimmed">{reason}</p>
          )}
        </SectionCard>
      </div>
      {kind !== undefined && <EffectiveSettings hook={hook} kind={kind} mayEdit={allowed} />}
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

type HookFactsProps = { hook: Hook; organizationId: number | undefined }

function HookFacts({ hook, organizationId }: HookFactsProps) {
  const { events = [], scope } = hook.trigger_when as { events?: string[]; scope?: string }
  const kind = presetKind(hook)
  const { data: receivers } = useReceivers()
  return (
    <DataList>
      <Fact label="Preset">
        {kind !== undefined && (receivers?.find(({ code }) => code === kind)?.name ?? kind)}
      </Fact>
      <Fact label="Notifies">
        <code>{hook.target_url}</code>
      </Fact>
      <Fact label="Credential">
        {hook.credential_id !== null ? (
          <CredentialName id={hook.credential_id} organizationId={organizationId} />
        ) : (
          kind !== undefined && 'The application’s own'
        )}
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

/** Not everybody who sees the hook sees the credential. */
function CredentialName({ id, organizationId }: { id: number; organizationId: number | undefined }) {
  const { data } = useCredentials(organizationId)
  return <>{data?.find((credential) => credential.id === id)?.name ?? `Credential ${id}`}</>
}
