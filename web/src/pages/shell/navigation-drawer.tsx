import '#web/base/ui/more-styles.ts'
import { Drawer } from '@mantine/core'
import type { ReactNode } from 'react'
import classes from './shell.module.css'

type NavigationDrawerProps = { isOpen: boolean; close(): void; children: ReactNode }

/** The sidebar where there is no room beside the page. */
export default function NavigationDrawer({ isOpen, close, children }: NavigationDrawerProps) {
  return (
    <Drawer.Root
      opened={isOpen}
      onClose={close}
      size="18rem"
      lockScroll={false}
      classNames={{ content: classes.drawer! }}
    >
      <Drawer.Overlay />
      <Drawer.Content aria-label="Navigation">{children}</Drawer.Content>
    </Drawer.Root>
  )
}
