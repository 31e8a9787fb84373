import '@mantine/core/styles/Notification.css'
import '@mantine/notifications/styles.css'
import { Notifications } from '@mantine/notifications'

/** Above the pages' buttons, which are at the bottom of forms. */
export default function ToastList() {
  return <Notifications position="top-center" />
}
