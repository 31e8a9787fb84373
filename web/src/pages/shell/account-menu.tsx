import '#web/base/ui/more-styles.ts'
import { Menu, VisuallyHidden } from '@mantine/core'
import { BookOpen, Braces, CircleUserRound, LogOut } from 'lucide-react'
import { useLocation } from 'wouter'
import { leavePage } from '#web/base/form/leave-guard.ts'
import { useSession } from '#web/base/session/session.ts'
import { ICON } from '#web/base/ui/icon.ts'
import { COLOR_SCHEMES, useColorScheme } from './color-schemes.ts'
import classes from './sidebar.module.css'

/** Open for as long as it is rendered, above what it is in. */
export default function AccountMenuItems({ close }: { close(): void }) {
  const { signOut } = useSession()
  const [, navigate] = useLocation()
  const [colorScheme, setColorScheme] = useColorScheme()
  return (
    <Menu opened onClose={close} position="top-start" width="target" shadow="md" returnFocus={false}>
      <Menu.Target>
        <div className={classes.anchor} aria-hidden="true">
          <VisuallyHidden>Account menu</VisuallyHidden>
        </div>
      </Menu.Target>
      <Menu.Dropdown className={classes.menu}>
        <Menu.Item leftSection={<CircleUserRound {...ICON} />} onClick={() => navigate('/account')}>
          Account
        </Menu.Item>
        <Menu.Item leftSection={<BookOpen {...ICON} />} component="a" href="/docs/guides">
          Guides
        </Menu.Item>
        <Menu.Item leftSection={<Braces {...ICON} />} component="a" href="/docs">
          API reference
        </Menu.Item>
        <Menu.Divider />
        <Menu.Label>Color scheme</Menu.Label>
        <Menu.RadioGroup value={colorScheme} onChange={(value) => setColorScheme(value)}>
          {COLOR_SCHEMES.map(({ value, label }) => (
            <Menu.RadioItem key={value} value={value} closeMenuOnClick={false}>
              {label}
            </Menu.RadioItem>
          ))}
        </Menu.RadioGroup>
        <Menu.Divider />
        <Menu.Item leftSection={<LogOut {...ICON} />} onClick={() => leavePage(() => void signOut())}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
