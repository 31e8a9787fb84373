import { Menu, UnstyledButton, VisuallyHidden } from '@mantine/core'
import { BookOpen, ChevronsUpDown, CircleUserRound, LogOut } from 'lucide-react'
import { useLocation } from 'wouter'
import { useSession } from '../session/session.ts'
import { leavePage } from '../ui/form/leave-guard.ts'
import { ICON } from '../ui/icon.ts'
import { COLOR_SCHEMES, useColorScheme } from './color-schemes.ts'
import { initials } from './initials.ts'
import classes from './sidebar.module.css'

/** Who is signed in, and what is theirs alone. */
export function AccountMenu() {
  const { user, signOut } = useSession()
  const [, navigate] = useLocation()
  const [colorScheme, setColorScheme] = useColorScheme()
  return (
    <Menu position="top-start" width="target" shadow="md">
      <Menu.Target>
        <UnstyledButton className={classes.account}>
          <VisuallyHidden>Account menu of </VisuallyHidden>
          <span className={classes.avatar} aria-hidden="true">
            {initials(user.name)}
          </span>
          <span className={classes.person}>
            <span>{user.name}</span>
            <span className="dimmed">{user.email}</span>
          </span>
          <ChevronsUpDown {...ICON} />
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown className={classes.menu}>
        <Menu.Item leftSection={<CircleUserRound {...ICON} />} onClick={() => navigate('/account')}>
          Account
        </Menu.Item>
        <Menu.Item leftSection={<BookOpen {...ICON} />} component="a" href="/docs">
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
