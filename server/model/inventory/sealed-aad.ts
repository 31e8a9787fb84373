/** What sealed values of the inventory are bound to (crypto/secret-box.ts). */
export const credentialAad = (id: number) => `credentials/${id}/secret`
export const variableAad = (id: number) => `application_variables/${id}/value`
