// Below a JSON tree: the path of the selected value, all of a long text, and what can be done with it.
import { Button, Group, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { CopyButton } from '#web/base/ui/parts.tsx'
import { hookPath, type JsonPick, kindOf } from './json-nodes.ts'
import type { JsonRow } from './json-rows.ts'
import classes from './json-tree.module.css'

type SelectedValueProps = {
  row: JsonRow
  actions: ((pick: JsonPick) => ReactNode) | undefined
  pick: (() => void) | undefined
}

/** More would stop the page; a copy has everything. */
const MAX_SELECTED_TEXT = 4_000

export function SelectedValue({ row, actions, pick }: SelectedValueProps) {
  const path = hookPath(row.keys)
  const text = typeof row.value === 'string' ? row.value : undefined
  return (
    <div className={classes.selected}>
      <Group justify="space-between" gap="xs">
        <Text size="sm" className="wrap" flex={1} miw="10rem">
          <code>{path}</code> <span className="dimmed">{kindOf(row.value)}</span>
        </Text>
        <Group gap="xs">
          {actions
            ? actions({ path, value: row.value, type: kindOf(row.value) })
            : pick && (
                <Button size="compact-sm" variant="default" onClick={pick}>
                  Use this value
                </Button>
              )}
          <CopyButton size="compact-sm" text={() => text ?? JSON.stringify(row.value, null, 2)} />
        </Group>
      </Group>
      {text !== undefined && text.length > 60 && (
        <PlainText label="Selected value" text={text.slice(0, MAX_SELECTED_TEXT)} />
      )}
    </div>
  )
}

export function PlainText({ label = 'Body', text }: { label?: string | undefined; text: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section className={classes.text} tabIndex={0} aria-label={label}>
      {text}
    </section>
  )
}
