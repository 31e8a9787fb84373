import { useDebouncedValue } from '@mantine/hooks'
import { useMemo, useState } from 'react'
import type { Hook } from '../../api/types.ts'
import { CodeEditor } from '../../editor/code-editor.tsx'
import { parseJson } from '../../editor/json-nodes.ts'
import { Dimmed } from '../../ui/parts.tsx'
import { RequestDrawer } from '../request-drawer.tsx'
import classes from './call-drawer.module.css'
import { PayloadTree } from './payload-tree.tsx'
import { TryOut } from './try-out.tsx'
import type { HookForm } from './use-hook-form.ts'

const EXAMPLE = '{\n  "ref": "refs/heads/main"\n}\n'
const DELAY_MS = 350

/** For hooks that nobody has called yet: a payload that a person pastes. */
export function TryPayloadDrawer({ hook, form, close }: { hook: Hook; form: HookForm; close(): void }) {
  const [text, setText] = useState(EXAMPLE)
  const [settled] = useDebouncedValue(text, DELAY_MS)
  const parsed = useMemo(() => parseJson(settled), [settled])
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
              <PayloadTree text={settled} form={form} />
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
