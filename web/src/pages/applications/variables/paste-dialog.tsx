import { Badge, Button, Stack, Table, Text, Textarea } from '@mantine/core'
import { useState } from 'react'
import { Dialog, DialogFooter } from '#web/base/ui/dialog.tsx'
import { plural } from '#web/base/ui/status.ts'
import { DataTable } from '#web/base/ui/table.tsx'
import { type DotenvProblem, parseDotenv } from './dotenv.ts'
import { comparePasted, type EditRow, type PastedRow } from './variable-edits.ts'

type PasteDialogProps = {
  initial: string
  rows: readonly EditRow[]
  apply(pasted: PastedRow[]): void
  close(): void
}

/** Applies what a `.env` file says; nothing is saved before the person has seen it in the table. */
export function PasteDialog({ initial, rows, apply, close }: PasteDialogProps) {
  const [text, setText] = useState(initial)
  const { entries, problems } = parseDotenv(text)
  const pasted = comparePasted(entries, rows)
  const changes = pasted.filter(({ change }) => change !== 'unchanged')
  return (
    <Dialog title="Paste a .env file" size="lg" close={close}>
      <Stack gap="md">
        <Textarea
          label="Contents"
          description="One NAME=value per line. Quotes, comments and export are supported."
          rows={7}
          className="code-input"
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          data-autofocus
        />
        {problems.length > 0 && <Problems problems={problems} />}
        {pasted.length > 0 && <Preview pasted={pasted} />}
        <DialogFooter close={close}>
          <Button
            disabled={changes.length === 0}
            onClick={() => {
              apply(pasted)
              close()
            }}
          >
            {changes.length === 0 ? 'Nothing to apply' : `Apply to ${plural(changes.length, 'variable')}`}
          </Button>
        </DialogFooter>
      </Stack>
    </Dialog>
  )
}

function Problems({ problems }: { problems: DotenvProblem[] }) {
  return (
    <div role="status">
      <ul className="plain-list">
        {problems.slice(0, 10).map(({ line, message }) => (
          <li key={`${line} ${message}`} className="wrap">
            <Text size="sm">
              Line {line}: {message.slice(0, 200)}
            </Text>
          </li>
        ))}
        {problems.length > 10 && <li>and {problems.length - 10} more</li>}
      </ul>
    </div>
  )
}

const CHANGES = { added: 'Added', changed: 'Changed', unchanged: 'Unchanged' }
const COLORS = { added: 'teal', changed: 'orange', unchanged: 'gray' }

/** Values stay out of it: somebody may look over the shoulder, and the table shows them. */
function Preview({ pasted }: { pasted: PastedRow[] }) {
  return (
    <DataTable columns={['Name', 'Change', 'Hidden']} aria-label="What will change">
      {pasted.map(({ name, change, hidden }) => (
        <Table.Tr key={name}>
          <Table.Td className="wrap">
            <code>{name}</code>
          </Table.Td>
          <Table.Td>
            <Badge variant="light" color={COLORS[change]} className="change-badge">
              {CHANGES[change]}
            </Badge>
          </Table.Td>
          <Table.Td className="dimmed">{hidden ? 'Hidden' : 'Visible'}</Table.Td>
        </Table.Tr>
      ))}
    </DataTable>
  )
}
