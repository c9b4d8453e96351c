/** Whether something has to do with several machines, or with one alone for all that is known. */
export class MachinesConcerned {
  private first: string | undefined;
  private several = false;

  get areSeveral(): boolean {
    return this.several;
  }

  /** @param inCompany whether it has to do with others as well */
  note(machineId: string, inCompany: boolean): void {
    this.first ??= machineId;
    this.several ||= inCompany || machineId !== this.first;
  }

  forget(): void {
    this.first = undefined;
    this.several = false;
  }
}
