import { DataList, Paper } from '@mantine/core'
import { useState } from 'react'
import { queryKeys } from '../../api/queries.ts'
import type { Hook } from '../../api/types.ts'
import { PipelineLink } from '../../pipelines/pipeline-link.tsx'
import { useSearch } from '../../scope/scope.ts'
import { useResourceScope } from '../../scope/tree.ts'
import { usePermission } from '../../session/permissions.ts'
import { CopyField } from '../../ui/copy-field.tsx'
import { useVersioned } from '../../ui/form/versioned.ts'
import { Loaded } from '../../ui/page.tsx'
import { Fact, HookBadge } from '../../ui/parts.tsx'
import { ResourceHeader } from '../../ui/resource-header.tsx'
import { Age } from '../../ui/time.tsx'
import { HookActions } from '../hook-actions.tsx'
import { SecretDialog } from '../rotate-dialog.tsx'
import { CallDrawer } from './call-drawer.tsx'
import { CallsSection } from './calls-section.tsx'
import { HookSettings } from './hook-settings.tsx'
import { TryPayloadDrawer } from './try-payload-drawer.tsx'
import { useHookForm } from './use-hook-form.ts'

export default function IncomingHookPage({ id }: { id: string }) {
  const query = useVersioned(queryKeys.hook('incoming', id), '/hooks/incoming/{hook_id}', {
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
  const [search, update] = useSearch()
  const [secret, setSecret] = useState<string>()
  const [isTrying, setTrying] = useState(false)
  const form = useHookForm({ hook, version, onSecret: setSecret })
  const { allowed } = usePermission('hook:edit', scope)
  const call = search.get('call')
  return (
    <>
      <ResourceHeader
        type="incoming_hook"
        record={hook}
        environment={environment}
        badge={<HookBadge hook={hook} />}
      >
        <HookActions hook={hook} scope={scope} />
      </ResourceHeader>
      <Paper withBorder p="md">
        {allowed && hook.url && <CopyField label="URL" value={hook.url} />}
        <HookFacts hook={hook} showsUrl={!allowed} />
      </Paper>
      <CallsSection
        hook={hook}
        open={(id) => update({ call: id })}
        tryPayload={allowed ? () => setTrying(true) : undefined}
      />
      <div className="section">
        <HookSettings deploys={hook.action_type === 'deploy'} form={form} scope={scope} />
      </div>
      {call && (
        <CallDrawer
          key={call}
          callId={call}
          hook={hook}
          form={form}
          scope={scope}
          close={() => update({ call: undefined })}
        />
      )}
      {isTrying && <TryPayloadDrawer hook={hook} form={form} close={() => setTrying(false)} />}
      {secret && <SecretDialog type="incoming" secret={secret} close={() => setSecret(undefined)} />}
    </>
  )
}

function HookFacts({ hook, showsUrl }: { hook: Hook; showsUrl: boolean }) {
  return (
    <DataList mt={showsUrl ? 0 : 'md'}>
      {showsUrl && (
        <Fact label="URL">
          <code>{hook.url}</code>
        </Fact>
      )}
      <Fact label="Triggers">
        <PipelineLink id={hook.pipeline_id} />
      </Fact>
      <Fact label="Signature">
        {hook.requires_secret
          ? `Required in the header ${hook.secret_header_name}`
          : 'Not required: anyone who knows the URL can call it'}
      </Fact>
      <Fact label="Created by">
        {hook.created_by_user.name}, <Age of={hook.created_at} />
      </Fact>
    </DataList>
  )
}
