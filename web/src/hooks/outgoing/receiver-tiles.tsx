import { Paper, Text, UnstyledButton } from '@mantine/core'
import { Braces, GitCommitHorizontal, Hash, type LucideIcon, MessageSquare } from 'lucide-react'
import type { Receiver } from '../../api/types.ts'
import classes from '../incoming/new-incoming-hook.module.css'

const ICONS: Record<string, LucideIcon> = { slack_message: Hash, generic: Braces }

type ReceiverTilesProps = { receivers: Receiver[]; choose(receiver: Receiver): void }

export function ReceiverTiles({ receivers, choose }: ReceiverTilesProps) {
  return (
    <ul className={`plain-list ${classes.tiles}`} aria-label="Receivers">
      {receivers.map((receiver) => {
        const { code, name, uses_access_token } = receiver
        const Icon = ICONS[code] ?? (uses_access_token ? GitCommitHorizontal : MessageSquare)
        return (
          <li key={code}>
            <UnstyledButton className={classes.tile} onClick={() => choose(receiver)}>
              <Paper withBorder p="md" h="100%" component="span" display="block">
                <span className={classes.name}>
                  <Icon size={18} strokeWidth={1.75} aria-hidden="true" />
                  {name}
                </span>
                <Text component="span" size="sm" className="dimmed">
                  {kindOf(receiver)}
                </Text>
              </Paper>
            </UnstyledButton>
          </li>
        )
      })}
    </ul>
  )
}

/** What it gets, in a word: the description follows once it is chosen. */
function kindOf({ code, uses_access_token }: Receiver): string {
  if (code === 'generic') return 'Signed JSON about every change'
  return uses_access_token ? 'Status of the commit' : 'Message in a channel'
}
