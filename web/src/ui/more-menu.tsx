import { ActionIcon, Menu } from '@mantine/core'
import { Ellipsis } from 'lucide-react'
import type { ReactNode } from 'react'

type MoreMenuProps = {
  /** Where a page has several: "More actions for web-1". */
  label?: string
  isSmall?: boolean
  /** Its items. */
  children: ReactNode
}

/** What is done less often. */
export function MoreMenu({ label = 'More actions', isSmall = false, children }: MoreMenuProps) {
  return (
    <Menu position="bottom-end" transitionProps={{ duration: 0 }}>
      <Menu.Target>
        <ActionIcon
          variant={isSmall ? 'subtle' : 'default'}
          color="gray"
          size={isSmall ? 'md' : 'lg'}
          aria-label={label}
        >
          <Ellipsis size={16} strokeWidth={1.75} aria-hidden="true" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>{children}</Menu.Dropdown>
    </Menu>
  )
}
