import { Paper, Text, UnstyledButton } from '@mantine/core'
import { Braces, GitCommitHorizontal, Hash, type LucideIcon, MessageSquare, Rocket } from 'lucide-react'
import type { Receiver } from '../../api/types.ts'
import classes from '../incoming/new-incoming-hook.module.css'
import { needsApplication } from './receiver-values.ts'

const ICONS: Record<string, LucideIcon> = {
  github_deployment: Rocket,
  slack_message: Hash,
  slack_webhook: Hash,
  generic: Braces,
}

type ReceiverTilesProps = { receivers: Receiver[]; choose(receiver: Receiver): void }

export function ReceiverTiles({ receivers, choose }: ReceiverTilesProps) {
  return (
    <ul className={`plain-list ${classes.tiles}`} aria-label="Receivers">
      {receivers.map((receiver) => {
        const { code, name } = receiver
        const Icon = ICONS[code] ?? (needsApplication(receiver) ? GitCommitHorizontal : MessageSquare)
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
function kindOf(receiver: Receiver): string {
  if (receiver.code === 'generic') return 'Signed JSON about every change'
  if (receiver.code === 'github_deployment') return 'Deployment of the commit'
  if (needsApplication(receiver)) return 'Status of the commit'
  return receiver.uses_access_token ? 'One message per run' : 'Message for each event'
}
