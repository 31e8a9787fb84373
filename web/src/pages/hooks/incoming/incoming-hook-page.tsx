import { DataList, Paper } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useMemo, useState } from 'react'
import type { Hook } from '#web/base/api/types.ts'
import { usePermission } from '#web/base/session/permissions.ts'
import { CopyField, ReachWarning } from '#web/base/ui/copy-field.tsx'
import { Loaded } from '#web/base/ui/page.tsx'
import { Dimmed, Fact } from '#web/base/ui/parts.tsx'
import { Age } from '#web/base/ui/time.tsx'
import { HookActions } from '#web/resources/hooks/hook-actions.tsx'
import { HookBadge } from '#web/resources/hooks/hook-badge.tsx'
import { RequestDrawer } from '#web/resources/hooks/request-drawer.tsx'
import { SecretDialog } from '#web/resources/hooks/rotate-dialog.tsx'
import { useWatchedHook } from '#web/resources/hooks/use-connection.ts'
import { PipelineLink } from '#web/resources/pipelines/pipeline-link.tsx'
import { CodeEditor } from '#web/shared/editor/code-editor.tsx'
import { parseJson } from '#web/shared/editor/json-nodes.ts'
import { ResourceHeader } from '#web/shared/resource-header.tsx'
import { useSearch } from '#web/shared/scope/scope.ts'
import { useResourceScope } from '#web/shared/scope/tree.ts'
import classes from './call-drawer.module.css'
import { CallDrawer } from './call-drawer.tsx'
import { CallsSection } from './calls-section.tsx'
import { ConnectionSection } from './connection-section.tsx'
import { HookSettings } from './hook-settings.tsx'
import { PayloadTree } from './payload-tree.tsx'
import { TryOut } from './try-out.tsx'
import { type HookForm, useHookForm } from './use-hook-form.ts'

export default function IncomingHookPage({ id }: { id: string }) {
  return (
    <Loaded query={useWatchedHook(id)} what="hook">
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
        {hook.url &&
          (allowed ? <CopyField label="URL" value={hook.url} /> : <ReachWarning url={hook.url} mb="md" />)}
        <HookFacts hook={hook} showsUrl={!allowed} />
      </Paper>
      <ConnectionSection hook={hook} scope={scope} />
      <CallsSection
        hook={hook}
        open={(id) => update({ call: id })}
        tryPayload={allowed ? () => setTrying(true) : undefined}
      />
      <div className="section">
        <HookSettings hook={hook} form={form} scope={scope} />
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

const EXAMPLE = '{\n  "ref": "refs/heads/main"\n}\n'
const DELAY_MS = 350

/** For hooks that nobody has called yet: a payload that a person pastes. */
function TryPayloadDrawer({ hook, form, close }: { hook: Hook; form: HookForm; close(): void }) {
  const [text, setText] = useState(EXAMPLE)
  const [debounced] = useDebouncedValue(text, DELAY_MS)
  const parsed = useMemo(() => parseJson(debounced), [debounced])
  return (
    <RequestDrawer title="Try a payload" close={close}>
      <Dimmed mb="md">Nothing starts, and nothing is recorded.</Dimmed>
      <div className={classes.columns}>
        <div className={classes.column}>
          <CodeEditor
            label="Payload"
            language="json"
            value={text}
            onChange={setText}
            minLines={8}
            error={parsed.kind === 'text' ? 'This is not valid JSON.' : undefined}
          />
          {parsed.kind === 'json' && (
            <div className={classes.headers}>
              <PayloadTree text={debounced} form={form} />
            </div>
          )}
        </div>
        <div className={classes.column}>
          {parsed.kind === 'json' && (
            <TryOut what="payload" hook={hook} form={form} source={{ body: parsed.value }} />
          )}
        </div>
      </div>
    </RequestDrawer>
  )
}
