import { element } from './dom.js'

/**
 * Asks before something is removed. Escape and Cancel mean no.
 * @param {string} url
 * @returns {Promise<boolean>}
 */
export function confirmDelete(url) {
  const dialog = element(
    'dialog',
    { 'aria-labelledby': 'confirm-title' },
    element('h2', { id: 'confirm-title' }, 'Send this DELETE?'),
    element('p', {}, element('code', {}, `DELETE ${url}`)),
    element('p', {}, 'It runs against this service, with your token.'),
    element(
      'form',
      { method: 'dialog', className: 'row' },
      element('button', { value: 'cancel' }, 'Cancel'),
      element('button', { value: 'send', className: 'danger' }, 'Delete'),
    ),
  )
  document.body.append(dialog)
  dialog.showModal()
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => {
      dialog.remove()
      resolve(dialog.returnValue === 'send')
    })
  })
}
