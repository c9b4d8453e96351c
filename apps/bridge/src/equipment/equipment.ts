import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { everyRealMs } from '#libs/clock';
import type { BridgeSettings } from '#libs/config';
import type { EquipmentMap } from '#libs/erp-formats';
import { MachineDirectory } from '../machine-directory/index.js';
import { BRIDGE_SETTINGS } from '../platform/index.js';
import { EquipmentMapFile } from './equipment-map-file.js';

const LOOK_EVERY_MS = 2000;
const MACHINES_NAMED = 5;

/** Which machine an operation runs on, by the map as it is now: `EQUIPMENT_MAP_FILE` is read again when it changes. */
@Injectable()
export class Equipment implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('Equipment');
  private readonly file: EquipmentMapFile | undefined;
  private map: EquipmentMap;
  private unlisted = '';
  private isLooking = false;
  private stopLooking = (): void => undefined;

  constructor(
    @Inject(BRIDGE_SETTINGS) { erp }: BridgeSettings,
    private readonly directory: MachineDirectory,
  ) {
    this.map = erp.equipmentMap;
    const { equipmentMapFile: file } = erp;
    this.file = file === undefined ? undefined : new EquipmentMapFile(file.path, file.content);
  }

  /** Undefined for a work centre that is not mapped. */
  readonly machineOf: EquipmentMap['machineOf'] = (operation) => this.map.machineOf(operation);

  onApplicationBootstrap(): void {
    this.directory.onRefresh(() => {
      this.compareWithDirectory();
    });
    const { file } = this;
    if (file === undefined) return;
    this.stopLooking = everyRealMs(LOOK_EVERY_MS, () => void this.look(file));
  }

  beforeApplicationShutdown(): void {
    this.stopLooking();
  }

  private async look(file: EquipmentMapFile): Promise<void> {
    // A mount that hangs keeps a thread for each look, of which the process has four.
    if (this.isLooking) return;
    this.isLooking = true;
    const read = await file.readIfChanged();
    this.isLooking = false;
    if (read === undefined) return;
    if (read.kind === 'unreadable') {
      this.logger.error({ msg: 'equipment map not read, the last one holds', why: read.why });
      return;
    }
    this.map = read.map;
    this.logger.log({ msg: 'equipment map read again', entries: read.map.size });
    this.compareWithDirectory();
  }

  /** A machine that the service does not list is a mistake in the map, or one the token may not see. */
  private compareWithDirectory(): void {
    const unlisted = [...this.map.machineIds].filter((id) => !this.directory.hasMachine(id));
    const named = unlisted.slice(0, MACHINES_NAMED).join(', ');
    if (named !== this.unlisted && named !== '') {
      const msg = 'equipment map names machines that are not listed';
      this.logger.warn({ msg, machines: unlisted.length, named });
    }
    this.unlisted = named;
  }
}
