// The same as a file, a command or a request: for people who go on in a terminal, or keep it next to their source.
import { ActionIcon, Button, Menu, Textarea } from '@mantine/core'
import { ChevronDown, Copy, FileCode, Globe, Terminal } from 'lucide-react'
import { useState } from 'react'
import type { Api } from '#web/base/api/api.ts'
import { useApi } from '#web/base/api/queries.ts'
import { Dialog } from '#web/base/ui/dialog.tsx'
import { ActionMenu, GuardedMenuItem } from '#web/base/ui/menus.tsx'
import { notify } from '#web/base/ui/notify.ts'
import { type CurlRequest, curlCommand } from './curl.ts'
import { type CopiedResource, defaultCommand, defaultCurl } from './resource.ts'

/** In lists: an icon that names what it copies. */
type Compact = { isCompact?: boolean }

type CopyAsProps = Compact &
  /** By default the command and the request that show the resource. */
  (
    | { resource: CopiedResource; command?: string; curl?: CurlRequest }
    /** What no gantry.yaml contains. */
    | { resource?: undefined; command: string; curl: CurlRequest }
  )

type Copied = { format: string; text: string }

export function CopyAs(props: CopyAsProps) {
  const { resource } = props
  const api = useApi()
  const [shown, setShown] = useState<Copied>()
  const copy = (format: string, read: () => string | Promise<string>) => void copyText(format, read, setShown)
  const command = () => props.command ?? defaultCommand(resource!)
  const curl = () => curlCommand({ base: window.location.origin, ...(props.curl ?? defaultCurl(resource!)) })
  return (
    <>
      <ActionMenu width={220}>
        <Menu.Target>
          {props.isCompact ? (
            <ActionIcon variant="subtle" color="gray" aria-label={`Copy ${resource?.name ?? 'it'} as`}>
              <Copy size={16} strokeWidth={1.75} aria-hidden="true" />
            </ActionIcon>
          ) : (
            <Button
              variant="default"
              className="icon-when-narrow"
              leftSection={<Copy size={16} strokeWidth={1.75} aria-hidden="true" />}
              rightSection={<ChevronDown size={14} strokeWidth={1.75} aria-hidden="true" />}
            >
              Copy as
            </Button>
          )}
        </Menu.Target>
        <Menu.Dropdown>
          {resource && (
            <GuardedMenuItem
              permission="organization:edit"
              scope={{ organization: resource.organizationId }}
              icon={FileCode}
              onClick={() => copy('gantry.yaml', () => readYaml(api, resource))}
            >
              gantry.yaml
            </GuardedMenuItem>
          )}
          <Menu.Item
            leftSection={<Terminal size={16} strokeWidth={1.75} aria-hidden="true" />}
            onClick={() => copy('gantry command', command)}
          >
            gantry command
          </Menu.Item>
          <Menu.Item
            leftSection={<Globe size={16} strokeWidth={1.75} aria-hidden="true" />}
            onClick={() => copy('curl command', curl)}
          >
            curl command
          </Menu.Item>
        </Menu.Dropdown>
      </ActionMenu>
      {shown && <TextDialog {...shown} close={() => setShown(undefined)} />}
    </>
  )
}

/** Shows the text where the clipboard is not available: over plain HTTP, or when the browser denies it. */
async function copyText(
  format: string,
  read: () => string | Promise<string>,
  show: (copied: Copied) => void,
): Promise<void> {
  try {
    const text = await read()
    try {
      await navigator.clipboard.writeText(text)
      notify.done(`Copied as ${format}.`)
    } catch {
      show({ format, text })
    }
  } catch (error) {
    notify.problem(error as Error)
  }
}

async function readYaml(api: Api, resource: CopiedResource): Promise<string> {
  const found = await findResource(api, resource)
  if (!found) throw new Error(`${resource.name} is not in the gantry.yaml of its project.`)
  return found
}

async function findResource(api: Api, resource: CopiedResource): Promise<string | undefined> {
  const [{ cutDocument }, { findInDocument }] = await Promise.all([
    import('./cut-document.ts'),
    import('./find-in-document.ts'),
  ])
  const found = await findInDocument(api, resource)
  if (!found) return undefined
  const params = { path: { id: resource.organizationId }, query: { project: found.project } }
  const text = await api.get('/organizations/{id}/export', { params, parseAs: 'text' })
  return cutDocument(text, found.path)
}

function TextDialog({ format, text, close }: Copied & { close(): void }) {
  return (
    <Dialog title={`Copy as ${format}`} size="xl" close={close}>
      <Textarea
        label="Select the text and copy it"
        readOnly
        wrap="off"
        value={text}
        rows={Math.min(text.split('\n').length + 1, 24)}
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
        onFocus={(event) => event.currentTarget.select()}
        data-autofocus
      />
    </Dialog>
  )
}
