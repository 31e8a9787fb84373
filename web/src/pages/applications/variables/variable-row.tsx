import { Alert, Button, Checkbox, Group, Textarea, TextInput } from '@mantine/core'
import { Trash2, Undo2 } from 'lucide-react'
import { type ClipboardEvent, memo } from 'react'
import { IconButton } from '#web/base/ui/controls.tsx'
import type { RowErrors } from './use-variables.ts'
import type { Edit, EditRow, Variable } from './variable-edits.ts'
import classes from './variables.module.css'

type VariableRowProps = {
  row: EditRow
  errors: RowErrors | undefined
  /** What somebody else saved meanwhile. */
  theirs: Variable | undefined
  /** Focused when it appears. */
  isNew: boolean
  change(key: string, edit: Edit, changed: Partial<Edit>): void
  reset(key: string): void
  keepMine(key: string): void
  /** Several lines were pasted into the name. */
  pasteFile(text: string): void
}

/** One variable, editable in place. */
export const VariableRow = memo(function VariableRow(props: VariableRowProps) {
  const { row, errors, theirs, isNew, change, reset, keepMine } = props
  const { key, ...edit } = row
  const label = row.name.trim() || 'new variable'
  const set = (changed: Partial<Edit>) => change(key, edit, changed)
  const onPaste = (event: ClipboardEvent) => {
    const text = event.clipboardData.getData('text')
    if (!/[\n=]/.test(text.trim())) return
    event.preventDefault()
    props.pasteFile(text)
  }
  return (
    <li className={classes.row} data-removed={row.isRemoved || undefined}>
      <TextInput
        aria-label={`Name of ${label}`}
        placeholder="NAME"
        className={classes.name}
        value={row.name}
        error={errors?.name}
        disabled={row.isRemoved}
        autoFocus={isNew}
        onChange={(event) => set({ name: event.currentTarget.value })}
        onPaste={onPaste}
      />
      <Textarea
        aria-label={`Value of ${label}`}
        placeholder={row.base?.hidden ? '•••••••• (unchanged)' : 'value'}
        className={classes.value}
        rows={1}
        value={row.value}
        error={errors?.value}
        disabled={row.isRemoved}
        onChange={(event) => set({ value: event.currentTarget.value })}
      />
      <Checkbox
        aria-label={`Hide ${label}`}
        label="Hidden"
        className={classes.hidden}
        checked={row.hidden}
        error={errors?.hidden}
        disabled={row.isRemoved}
        onChange={(event) => set({ hidden: event.currentTarget.checked })}
      />
      <IconButton
        label={`${row.isRemoved ? 'Keep' : 'Remove'} ${label}`}
        icon={row.isRemoved ? Undo2 : Trash2}
        className={classes.remove}
        onClick={() => (row.base && !row.isRemoved ? set({ isRemoved: true }) : reset(key))}
      />
      {(theirs || errors?.row) && (
        <Alert className={classes.message} color={theirs ? 'orange' : 'red'} role="alert">
          {theirs ? (
            <Theirs theirs={theirs} keepMine={() => keepMine(key)} takeTheirs={() => reset(key)} />
          ) : (
            errors?.row
          )}
        </Alert>
      )}
    </li>
  )
})

type TheirsProps = { theirs: Variable; keepMine(): void; takeTheirs(): void }

function Theirs({ theirs, keepMine, takeTheirs }: TheirsProps) {
  return (
    <Group gap="sm" justify="space-between">
      <span className="wrap">
        Someone else changed it while you were editing:{' '}
        <code>
          {theirs.name}={theirs.hidden ? '••••••••' : theirs.value.slice(0, 200)}
        </code>
      </span>
      <Group gap="xs">
        <Button size="compact-sm" onClick={keepMine}>
          Keep mine
        </Button>
        <Button size="compact-sm" variant="default" onClick={takeTheirs}>
          Take theirs
        </Button>
      </Group>
    </Group>
  )
}
